import type { Html } from '../../runtime/html.js';
import { idText } from '../parts/id.js';

export const recordPath = (source: string, id: string): string =>
  `/records/${encodeURIComponent(source)}/${encodeURIComponent(id)}`;

export const recordLink = (source: string, id: string): Html => idText(id, recordPath(source, id));
