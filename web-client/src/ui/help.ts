// The help line, in words for the kind of pointer at hand. H hides and shows it.

const MOUSE =
  "Drag the water to push it · drag beside it to look around · wheel zooms · Shift + wheel sizes the push<br>" +
  "<kbd>P</kbd> pause · <kbd>S</kbd> step · <kbd>R</kbd> reset · <kbd>M</kbd> measurements · <kbd>H</kbd> hide this";
const TOUCH = "One finger pushes the water · two fingers look around and zoom";

export class Help {
  constructor(private readonly line: HTMLElement) {
    // Fixed text of this file, nobody's input.
    line.innerHTML = matchMedia("(pointer: coarse)").matches ? TOUCH : MOUSE;
  }

  toggle(): void {
    this.line.hidden = !this.line.hidden;
  }
}
