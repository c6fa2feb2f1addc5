"""`python -m cooper` is the command `cooper`."""

from cooper.cli import main

if __name__ == "__main__":
    main()
