import { existsSync } from 'node:fs';

/** Stands beside a mirror of made-up people, which the next demonstration may overwrite. */
export const demoMarkOf = (file: string): string => `${file}.demo`;

export const isDemonstration = (file: string): boolean => existsSync(file) && existsSync(demoMarkOf(file));
