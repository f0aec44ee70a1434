"""The command, from its first moment: what a stop before it has loaded does is told like one after."""

import sys


def main() -> None:
    try:
        from stuckstep.cli import main as command
    except KeyboardInterrupt:
        sys.stderr.write("stopped\n")
        sys.exit(130)
    command()


if __name__ == "__main__":
    main()
