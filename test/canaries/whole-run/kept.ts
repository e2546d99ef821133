/** The channel of an output: a log line, text for a person, or the message of an error. */
export type Way = 'log' | 'words' | 'error';

export interface Said {
  readonly way: Way;
  readonly text: string;
  /** The test that was running. */
  readonly test: string;
}

/** Personal data or a secret that must not be found in it. */
export interface Known {
  readonly what: string;
  readonly value: string;
}

/** Both are JSON lines files, one of each per worker: this name and the pid. */
export const saidFile = 'said';
export const knownFile = 'known';
