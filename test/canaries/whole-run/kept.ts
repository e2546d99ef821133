/** How something was said: a line of a log, words for a person, the text of an error. */
export type Way = 'log' | 'words' | 'error';

export interface Said {
  readonly way: Way;
  readonly text: string;
  /** The test that was running. */
  readonly test: string;
}

/** What must not be found in it: somebody's, or secret. */
export interface Known {
  readonly what: string;
  readonly value: string;
}

/** Both are files of JSON lines, one of each per worker: these names, and the number of its process. */
export const saidFile = 'said';
export const knownFile = 'known';
