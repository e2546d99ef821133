import type { Json, JsonObject } from '../../domain/json.js';
import type { Answer } from '../http/envelope.js';

/**
 * Leaves items out of the `data` of a list: the last ones by their number, or those with the given ids. `recount` makes
 * `meta` agree with the shorter list; without it, `meta.count` tells that items are missing. An answer that is not a list
 * is returned as it is.
 */
export function withoutItems(answer: Answer, omit: number | readonly string[], recount: boolean): Answer {
  const list = listOf(answer);
  if (list === null) return answer;
  const ids = typeof omit === 'number' ? null : new Set<Json | undefined>(omit);
  const kept =
    ids === null
      ? list.data.slice(0, Math.max(0, list.data.length - Number(omit)))
      : list.data.filter((item) => !ids.has(idOf(item)));
  const gone = list.data.length - kept.length;
  const meta = recount ? { ...list.meta, ...recounted(list.meta, gone) } : list.meta;
  const body = JSON.stringify({ ...list, data: kept, meta });
  return {
    ...answer,
    body,
    headers: { ...answer.headers, 'content-length': String(Buffer.byteLength(body)) },
  };
}

function listOf({ status, body }: Answer): (JsonObject & { data: readonly Json[]; meta: JsonObject }) | null {
  if (status !== 200) return null;
  try {
    const value = JSON.parse(body) as { readonly data?: unknown; readonly meta?: unknown } | null;
    const isList = Array.isArray(value?.data) && typeof value.meta === 'object' && value.meta !== null;
    return isList ? (value as JsonObject & { data: readonly Json[]; meta: JsonObject }) : null;
  } catch {
    return null;
  }
}

const idOf = (item: Json): Json | undefined =>
  typeof item === 'object' && item !== null && !Array.isArray(item) ? (item as JsonObject).id : undefined;

const counts = ['count', 'page_count'] as const;

function recounted(meta: JsonObject, gone: number): JsonObject {
  const present = counts.filter((name) => typeof meta[name] === 'number');
  return Object.fromEntries(present.map((name) => [name, Number(meta[name]) - gone]));
}
