"""One benchmark for all that this package does, beside TensorFlow and its peers.

``python -m benchmarks`` runs it; README.md in this folder has the figures and how they come about.

::

    __main__      arguments; which tasks, sizes and rounds; the order of sides
    tasks         what is measured: a task has a data set, sides and a floor; and the targets
    data          the data sets, and the rows and records that are written
    contenders/   a module per library: for each operation a function that prepares it
    worker        the process of one contender, in any environment; answers requests on a pipe
    check         values of any library to one form, and their checksums
    server        a store far away, for the section `remote`
    measure       starts workers, lets them check and take turns, and makes figures of it
    scaling       time and memory against the size of the input
    report        figures to Markdown, JSON and SVG
    shards        a data set of thousands of files, by itself: ``python -m benchmarks.shards``
    instructions  a guard by numbers of instructions, which does not depend on the time

An operation is a function of a contender: it takes what the task says (a file, a batch size), imports
and prepares what is not measured, and returns a callable. The worker times that callable, and
runs through what it returns, if that is an iterator. To check, it runs once more, and takes
checksums of all values instead. So what is checked is what is measured.
"""
