import type { ComponentType } from 'preact';
import type { IconName } from './widgets/icon.tsx';

/** What a screen is given: the rest of its address, such as the id of a run. */
export interface ScreenProps {
  id?: string;
}

export interface Screen {
  name: string;
  title: string;
  /** The first part of its address; with `takesId`, the second part is the id of what it shows. */
  path: string;
  takesId?: boolean;
  /** It stands in the rail, and `g` with this letter leads there. */
  rail?: { icon: IconName; letter: string };
  /** Screens besides the first one are loaded when somebody goes there. */
  load: () => Promise<ComponentType<ScreenProps>> | ComponentType<ScreenProps>;
}
