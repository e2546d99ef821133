import { fetch } from 'undici';

/**
 * Marks a record as changed or gone in the feed at that address. Returns the position of the change in its log.
 */
export const changeAt =
  (url: string) =>
  async (no: number, gone = false): Promise<number> =>
    Number(await (await fetch(`${url}/change?no=${no}${gone ? '&gone' : ''}`, { method: 'POST' })).text());
