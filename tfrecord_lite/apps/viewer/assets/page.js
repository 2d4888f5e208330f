(() => {
  "use strict";
  const root = document.documentElement;
  const at = (id) => document.getElementById(id);
  const on = (element, name, action) => element && element.addEventListener(name, action);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];
  const plural = (count, noun) => `${count.toLocaleString("en")} ${noun}${count === 1 ? "" : "s"}`;
  root.classList.replace("no-js", "js");

  /* Light or dark: what the system says, until somebody chooses. */
  on(at("theme"), "click", () => {
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  for (const button of all("[data-copy]")) {
    on(button, "click", async () => {
      const code = at(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(code.textContent);
        button.textContent = "Copied";
        setTimeout(() => { button.textContent = "Copy"; }, 1600);
      } catch {
        getSelection().selectAllChildren(code); // to be copied by hand
      }
    });
  }

  /* Features */
  const cards = all(".card");
  const names = cards.map((card) => card.querySelector("h3").textContent);
  const words = (text) => text.toLowerCase().split(/\s+/).filter(Boolean);
  const later = (action, wait = 120) => {
    let timer;
    return () => { clearTimeout(timer); timer = setTimeout(action, wait); };
  };
  on(at("filter"), "input", later(() => {
    const wanted = words(at("filter").value);
    let shown = 0;
    cards.forEach((card, i) => {
      const text = `${names[i]} ${card.dataset.kind}`.toLowerCase();
      card.hidden = !wanted.every((word) => text.includes(word));
      shown += !card.hidden;
    });
    at("features-count").textContent = wanted.length
      ? `${shown.toLocaleString("en")} of ${cards.length.toLocaleString("en")}`
      : cards.length.toLocaleString("en");
    at("no-cards").hidden = shown > 0;
  }));
  on(at("sort"), "change", () => {
    const order = new Intl.Collator("en", { numeric: true });
    const rules = {
      name: (a, b) => order.compare(names[a], names[b]),
      kind: (a, b) => order.compare(cards[a].dataset.kind, cards[b].dataset.kind) || a - b,
      share: (a, b) => cards[a].dataset.share - cards[b].dataset.share || a - b,
    };
    const rule = rules[at("sort").value] || ((a, b) => a - b);
    at("cards").append(...cards.map((_, i) => i).sort(rule).map((i) => cards[i]));
  });

  /* Records: those that match, one page of them at a time */
  const records = all(".record");
  if (!records.length) return;
  const table = at("table");
  const note = at("records-count").textContent;
  const dialog = at("dialog");
  let matching = records;
  let page = 0;
  let texts = null; // of all records, once somebody searches
  const perPage = () => Number(at("per-page").value);
  const nPages = () => Math.max(Math.ceil(matching.length / perPage()), 1);
  const buttonOf = (record) => record.querySelector(".open");

  const show = () => {
    page = Math.min(Math.max(page, 0), nPages() - 1);
    const first = page * perPage();
    const visible = new Set(matching.slice(first, first + perPage()));
    for (const record of records) record.hidden = !visible.has(record);
    at("previous").disabled = page === 0;
    at("next").disabled = page >= nPages() - 1;
    at("page").textContent = matching.length
      ? `${(first + 1).toLocaleString("en")} to ${(first + visible.size).toLocaleString("en")} of ${matching.length.toLocaleString("en")}`
      : "";
    at("no-records").hidden = matching.length > 0;
    at("pager").hidden = records.length <= 10 || !matching.length;
  };
  const turn = (by) => { page += by; show(); table.parentElement.scrollTop = 0; };
  const turnTo = (record) => { page = Math.floor(matching.indexOf(record) / perPage()); show(); };

  on(at("previous"), "click", () => turn(-1));
  on(at("next"), "click", () => turn(1));
  on(at("per-page"), "change", () => { page = 0; show(); });
  /* What is in a record: its name, those of its features, and their values; no words of ours. */
  const textOf = (record) => {
    const parts = all(".row > td:not(.is-absent), .entry dd", record).map((value) => {
      const copy = value.cloneNode(true);
      for (const ours of all(".v-more, .v-note, .v-empty, summary", copy)) ours.remove();
      return copy.textContent;
    });
    const features = all(".entry dt", record).map((name) => name.firstChild.textContent);
    return [record.dataset.title, ...features, ...parts].join(" ").toLowerCase();
  };
  on(at("search"), "input", later(() => {
    texts ??= records.map(textOf);
    const wanted = words(at("search").value);
    matching = records.filter((_, i) => wanted.every((word) => texts[i].includes(word)));
    page = 0;
    show();
    at("records-count").textContent = wanted.length ? `${plural(matching.length, "match").replace("matchs", "matches")}` : note;
  }));

  /* The details of one record */
  let open = null;
  const fill = (record) => {
    open = record;
    const title = at("dialog-title");
    title.textContent = record.dataset.title;
    const about = document.createElement("small");
    about.textContent = record.dataset.about;
    title.append(about);
    const cells = all(".row > td", record);
    const entries = record.querySelector(".entries").cloneNode(true);
    for (const entry of all(".in-row", entries)) {
      const value = document.createElement("dd");
      value.append(...[...cells[entry.dataset.column].childNodes].map((node) => node.cloneNode(true)));
      entry.querySelector("dt").after(value);
    }
    const hint = record.querySelector(".rest .hint");
    at("dialog-body").replaceChildren(entries, ...(hint ? [hint.cloneNode(true)] : []));
    for (const element of all("[id]", at("dialog-body"))) element.removeAttribute("id");
    const place = matching.indexOf(record);
    at("dialog-previous").disabled = place <= 0;
    at("dialog-next").disabled = place < 0 || place >= matching.length - 1;
    dialog.scrollTop = 0;
  };
  const step = (by) => {
    const record = matching[matching.indexOf(open) + by];
    if (record) { turnTo(record); fill(record); at("dialog-title").focus(); }
  };
  const openRecord = (record) => { fill(record); dialog.showModal(); at("dialog-title").focus(); };

  on(table, "click", (event) => {
    const record = event.target.closest(".record");
    const isOwn = event.target.closest("a, audio, video, summary, input, button:not(.open)");
    if (record && !isOwn && event.target.closest(".row") && getSelection().isCollapsed) openRecord(record);
  });
  on(at("dialog-previous"), "click", () => step(-1));
  on(at("dialog-next"), "click", () => step(1));
  on(at("dialog-close"), "click", () => dialog.close());
  on(dialog, "click", (event) => { if (event.target === dialog) dialog.close(); });
  on(dialog, "close", () => { if (open && !open.hidden) buttonOf(open).focus(); open = null; });

  /* Keys */
  const isTyping = (target) => target.closest("input, select, textarea, audio, video");
  const move = (record, by) => {
    const next = matching[matching.indexOf(record) + by];
    if (!next) return;
    if (next.hidden) turnTo(next);
    buttonOf(next).focus();
  };
  on(table, "keydown", (event) => {
    const record = event.target.closest(".record");
    if (!record || isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      ArrowDown: () => move(record, 1),
      ArrowUp: () => move(record, -1),
      PageDown: () => { turn(1); focusFirst(); },
      PageUp: () => { turn(-1); focusFirst(); },
      Home: () => { page = 0; show(); focusFirst(); },
      End: () => { page = nPages() - 1; show(); focusFirst(); },
    };
    if (actions[event.key]) { event.preventDefault(); actions[event.key](); }
  });
  const focusFirst = () => { const first = matching[page * perPage()]; if (first) buttonOf(first).focus(); };
  on(dialog, "keydown", (event) => {
    if (isTyping(event.target) || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("[tabindex='0']")) return; // scrolls by itself
    if (event.key === "ArrowRight") step(1);
    else if (event.key === "ArrowLeft") step(-1);
    else return;
    event.preventDefault();
  });
  on(document, "keydown", (event) => {
    if (event.key === "Escape" && event.target.matches("input[type=search]") && event.target.value) {
      event.preventDefault();
      event.target.value = "";
      event.target.dispatchEvent(new Event("input"));
    } else if (event.key === "/" && !isTyping(event.target) && !dialog.open && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      at("search").focus();
    }
  });
  show();
})();
