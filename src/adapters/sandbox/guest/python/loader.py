"""Runs the program of a model. The program is a separate file, so that line numbers in error messages are those of its text."""

import builtins
import os
import sys
import types
from pathlib import Path

PROGRAM = "/daybook/run/program.py"
# Lets a program use `await` outside of a function. This is ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, but importing `ast` takes time.
ALLOW_TOP_LEVEL_AWAIT = 0x2000
IS_COROUTINE = 0x80  # inspect.CO_COROUTINE


def run():
    main = types.ModuleType("__main__")
    main.__file__ = PROGRAM
    main.__builtins__ = builtins
    main.OUTPUT_DIR = os.environ["OUTPUT_DIR"]
    main.OUT_DIR = Path(main.OUTPUT_DIR)
    main.WORKDIR = Path(os.environ["WORKDIR"])
    main.CONTEXT_DIR = Path(os.environ["CONTEXT_DIR"])
    add_tools(main)
    sys.modules["__main__"] = main
    sys.argv = [PROGRAM]
    sys.path.insert(0, os.getcwd())
    sys.path.append(os.path.dirname(__file__))
    with open(PROGRAM, "rb") as file:
        text = file.read()
    code = compile(text, PROGRAM, "exec", flags=ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    if code.co_flags & IS_COROUTINE:
        import asyncio

        asyncio.run(eval(code, main.__dict__))
    else:
        exec(code, main.__dict__)


def add_tools(main):
    """Adds the functions that ask the runtime. Their module is imported when one of them is used first, because this takes time."""

    def library():
        import daybook

        return daybook

    def module(name, getattr_of_module):
        made = types.ModuleType(name)
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
    ids = [each for each in os.environ.get("DAYBOOK_TOOLS", "").split(",") if each]
    # An alias never hides a module or a function of Python. Such tools can be called with `tool_call`.
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
