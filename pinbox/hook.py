"""What an agent's hook runs: `python -I -S .../pinbox/hook.py <agent>`, its payload on stdin.

A main script is compiled each time it runs, so all the work is in `pinbox.hotpath`, whose bytecode
is kept. Whatever happens, the agent sees exit code 0.
"""

import posix
import sys

try:
    sys.path.append(__file__.rpartition("/")[0].rpartition("/")[0])  # isolated: nobody else did
    from pinbox.hotpath import main

    main(sys.argv[1])
except BaseException:  # noqa: S110 - there is nobody to tell, and the agent must go on
    pass
posix._exit(0)  # tearing the interpreter down takes longer than all of the above
