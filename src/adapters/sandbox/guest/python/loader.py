"""Runs the program of a model. The program is a separate file, so that line numbers in error messages are those of its text."""

import builtins
import sys

# A part of the module `os`. Importing all of `os` takes time, and many programs do not need it.
from posix import environ, getcwd

PROGRAM = "/daybook/run/program.py"
LIBRARY = "/daybook/guest/python"
# Lets a program use `await` outside of a function. This is ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, but importing `ast` takes time.
ALLOW_TOP_LEVEL_AWAIT = 0x2000
IS_COROUTINE = 0x80  # inspect.CO_COROUTINE
Module = type(sys)


def run():
    with open(PROGRAM, "rb") as file:
        text = file.read()
    main = Module("__main__")
    main.__file__ = PROGRAM
    main.__builtins__ = builtins
    add_folders(main, text)
    add_tools(main)
    sys.modules["__main__"] = main
    sys.argv = [PROGRAM]
    sys.path.insert(0, getcwd())
    sys.path.append(LIBRARY)
    sys.meta_path.append(InstalledPackages())
    if b"importlib" in text or b"pkgutil" in text:  # they may list packages without importing one
        InstalledPackages.find_spec("")
    builtins.exit = builtins.quit = sys.exit
    code = compile(text, PROGRAM, "exec", flags=ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    if code.co_flags & IS_COROUTINE:
        import asyncio

        asyncio.run(eval(code, main.__dict__))
    else:
        exec(code, main.__dict__)


class InstalledPackages:
    """Finds the packages of this machine. Preparing them (`site`) takes as long as starting Python, so this is done when the program imports the first one."""

    @staticmethod
    def find_spec(name, path=None, target=None):
        if path is not None or "site" in sys.modules:
            return None
        import site
        from importlib.machinery import PathFinder

        site.main()
        return PathFinder.find_spec(name, path, target)


def add_folders(main, text):
    """Adds the folders of the program. Paths are made only for a program that uses them, because importing `pathlib` takes time."""
    main.OUTPUT_DIR = variable("OUTPUT_DIR")
    names = [name for name in ("OUT_DIR", "WORKDIR", "CONTEXT_DIR") if name.encode() in text]
    if names:
        from pathlib import Path

        for name in names:
            setattr(main, name, Path(variable(name)))


def variable(name):
    return environ.get(name.encode(), b"").decode()


def add_tools(main):
    """Adds the functions that send requests to the runtime. Importing their module takes time, so it is imported when one of them is first used."""

    def library():
        import daybook

        return daybook

    def module(name, getattr_of_module):
        made = Module(name)
        made.__getattr__ = getattr_of_module
        setattr(main, name, made)
        sys.modules[name] = made

    def only(*names):
        def get(name):
            if name in names:
                return getattr(library(), name)
            raise AttributeError(f"there is no {name}, only {', '.join(names)}")

        return get

    def tools_of(alias):
        def get(name):
            if name.startswith("__"):
                raise AttributeError(name)
            return library().tool(f"{alias}.{name}")

        return get

    main.fetch_ctx = lambda path: library().fetch_ctx(path)
    main.tool_call = lambda *args, **named: library().tool_call(*args, **named)
    ids = [each for each in variable("DAYBOOK_TOOLS").split(",") if each]
    # An alias that is the name of a module or a function of Python is left out. Its tools can be called with `tool_call`.
    for alias in sorted({each.split(".")[0] for each in ids} - set(sys.stdlib_module_names) - set(dir(builtins))):
        module(alias, tools_of(alias))
    for name in ("ctx_tools", "context_tools"):
        module(name, only("fetch_ctx"))
    module("io_tools", only("tool_call"))


def show_error(kind, error, trace):
    """Shows an error without the lines of this file."""
    import traceback

    while trace is not None and trace.tb_frame.f_code.co_filename != PROGRAM:
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


sys.excepthook = show_error
run()
