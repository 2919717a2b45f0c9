import { styleText } from 'node:util';

export type Colour = 'bold' | 'dim' | 'red' | 'green' | 'yellow' | 'cyan';

/** How text should look. Passed in, so that rendering stays a pure function. */
export interface Style {
  paint(colour: Colour, text: string): string;
  /** In columns. Tables are cut to it, questions never. */
  width: number;
  now: Date;
  clock(time: Date): string;
}

const paintColour = (colour: Colour, text: string) => styleText(colour, text, { validateStream: false });
const paintNothing = (_: Colour, text: string) => text;

export function createStyle(options: { colour: boolean; width: number; now: Date }): Style {
  return {
    paint: options.colour ? paintColour : paintNothing,
    width: options.width,
    now: options.now,
    clock: (time) => [time.getHours(), time.getMinutes(), time.getSeconds()].map(twoDigits).join(':'),
  };
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
