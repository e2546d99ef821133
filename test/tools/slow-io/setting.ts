/** What the preloaded module reads in its environment. */
export interface Setting {
  readonly seed: number;
  /** The longest delay, in milliseconds. */
  readonly longest: number;
}

export const settingName = 'SLOW_IO';

export const settingText = ({ seed, longest }: Setting) => `${seed}/${longest}`;

export function readSetting(text: string | undefined): Setting | null {
  const [, seed, longest] = text?.match(/^(\d+)\/(\d+)$/) ?? [];
  return seed === undefined ? null : { seed: Number(seed), longest: Number(longest) };
}

interface Slowed {
  restartSlowIo?: () => void;
}

export const onRestart = (restart: () => void) => {
  (globalThis as Slowed).restartSlowIo = restart;
};

/** Lets delays follow from the seed and from this test file alone. Does nothing where nothing is slowed. */
export const restartSlowIo = () => (globalThis as Slowed).restartSlowIo?.();
