import diagnostics from 'node:diagnostics_channel';
import Sqlite from 'better-sqlite3';
import { SqliteMirror } from '../../src/store/dialect/sqlite/mirror.js';
import { quantile } from './measures.js';
import { openProduct, tickOf } from './product.js';
import type { Result, Stage } from './variants.js';

/** The parts of a tick, in their order. Commits are part of the opening and of the applying. */
const parts = ['request', 'opening', 'waiting', 'applying', 'rest', 'whole', 'commits'] as const;
type Part = (typeof parts)[number];

/**
 * Measures where the time of a tick goes that finds one changed record. Returns the median of each part in
 * microseconds, and the number of commits and of statements that were run.
 */
export async function tickParts({ baseUrl, folder, change, turns, warmUp, rounds }: Stage): Promise<Result> {
  const engine = await openProduct(baseUrl, folder);
  await tickOf(engine);
  const marks = new Map<string, number>();
  const mark = (name: string) => marks.set(name, performance.now());
  let committing = 0;
  let commits = 0;
  const undo = [
    aroundCommits((millis) => {
      committing += millis;
      commits += 1;
    }),
    aroundMethod('open', mark),
    aroundMethod('applyPage', mark),
  ];
  const onSent = () => mark('sent');
  diagnostics.subscribe('undici:client:sendHeaders', onSent);
  const results: Record<string, number[]> = { counted: [] };
  for (let round = 0; round < rounds; round += 1) {
    const took: Record<Part, number[]> = {
      request: [],
      opening: [],
      waiting: [],
      applying: [],
      rest: [],
      whole: [],
      commits: [],
    };
    for (let turn = round === 0 ? -warmUp : 0; turn < turns; turn += 1) {
      await change((round * turns + turn + warmUp) * 7);
      committing = 0;
      commits = 0;
      const began = performance.now();
      await tickOf(engine);
      const ended = performance.now();
      if (turn < 0) continue;
      const at = (name: string) => marks.get(name) ?? Number.NaN;
      took.request.push(at('sent') - began);
      took.opening.push(at('open after') - at('open before'));
      took.waiting.push(at('applyPage before') - at('open after'));
      took.applying.push(at('applyPage after') - at('applyPage before'));
      took.rest.push(ended - at('applyPage after'));
      took.whole.push(ended - began);
      took.commits.push(committing);
    }
    for (const part of parts) results[part] = [...(results[part] ?? []), 1000 * quantile(took[part], 0.5)];
    results.counted?.push(commits);
  }
  diagnostics.unsubscribe('undici:client:sendHeaders', onSent);
  for (const back of undo) back();
  await engine.close();
  return results;
}

function aroundMethod(name: 'open' | 'applyPage', mark: (name: string) => void): () => void {
  const { prototype } = SqliteMirror;
  const original = prototype[name] as (...args: unknown[]) => Promise<unknown>;
  const around = async function (this: SqliteMirror, ...args: unknown[]) {
    mark(`${name} before`);
    const result = await original.apply(this, args);
    mark(`${name} after`);
    return result;
  };
  Object.assign(prototype, { [name]: around });
  return () => Object.assign(prototype, { [name]: original });
}

function aroundCommits(took: (millis: number) => void): () => void {
  const { exec } = Sqlite.prototype;
  Sqlite.prototype.exec = function (sql) {
    const began = performance.now();
    const result = exec.call(this, sql);
    if (sql === 'COMMIT') took(performance.now() - began);
    return result;
  };
  return () => {
    Sqlite.prototype.exec = exec;
  };
}
