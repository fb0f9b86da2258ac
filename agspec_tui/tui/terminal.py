"""The terminal's driver, made to bear bytes that are no UTF-8."""

from textual.drivers.linux_driver import LinuxDriver


class TolerantDriver(LinuxDriver):
    """Drops input that cannot be decoded.

    A terminal multiplexer may send mouse reports in the old form, whose bytes are no text
    (https://github.com/Textualize/textual/issues/6668); the driver's own reader ends the app then.
    """

    def run_input_thread(self) -> None:
        """Read until the app ends; a chunk that cannot be decoded is lost, and reading goes on."""
        while not self.exit_event.is_set():
            try:
                super().run_input_thread()
            except UnicodeDecodeError:
                continue
