import type { Exchange } from './exchange.js';
import { type Asked, pageSizeOf, type Refusal, readPage } from './paging.js';
import { badParameter } from './problem.js';

/** Pages by descending row number, so that every page costs the same. `read` returns rows below a number. */
export function newestFirst<Row extends { readonly no: number }>(
  exchange: Exchange,
  list: string,
  asked: Asked,
  read: (before: number, limit: number) => readonly Row[],
  present: (row: Row) => unknown,
  refuse: Refusal = badParameter,
) {
  const size = pageSizeOf(asked.per_page, undefined, undefined, refuse);
  const page = readPage<Row, readonly [number]>(
    exchange.services.state,
    { list, cursor: asked.cursor, size, refuse },
    (after, limit) => read(after?.[0] ?? Number.MAX_SAFE_INTEGER, limit),
    ({ no }) => [no],
  );
  return { data: page.items.map(present), meta: { ...page.meta, request_id: exchange.requestId } };
}
