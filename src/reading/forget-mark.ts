import type { DatabaseLocation } from '../store/database-location.js';
import { forgetMark } from '../store/reads/forget-mark.js';
import { readMirror } from '../store/reads/read-mirror.js';

/** Returns a text that differs after every further forget request. */
export const forgetMarkOf = (location: DatabaseLocation): Promise<string> => readMirror(location, forgetMark);
