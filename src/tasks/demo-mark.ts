import { existsSync } from 'node:fs';

/** Returns the mark file beside a mirror of invented people, which the next demonstration may overwrite. */
export const demoMarkOf = (file: string): string => `${file}.demo`;

export const isDemonstration = (file: string): boolean => existsSync(file) && existsSync(demoMarkOf(file));
