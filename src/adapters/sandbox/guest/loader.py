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
    sys.modules["__main__"] = main
    sys.argv = [PROGRAM]
    sys.path.insert(0, os.getcwd())
    with open(PROGRAM, "rb") as file:
        text = file.read()
    code = compile(text, PROGRAM, "exec", flags=ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    if code.co_flags & IS_COROUTINE:
        import asyncio

        asyncio.run(eval(code, main.__dict__))
    else:
        exec(code, main.__dict__)


def show_error(kind, error, trace):
    """Shows an error without the lines of this file."""
    import traceback

    while trace is not None and trace.tb_frame.f_code.co_filename != PROGRAM:
        trace = trace.tb_next
    traceback.print_exception(kind, error, trace)


sys.excepthook = show_error
run()
