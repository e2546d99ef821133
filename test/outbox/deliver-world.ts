import type { DueNotice, Send, Sent } from '../../src/outbox/ports.js';
import { type LogFields, type Logger, silentLogger } from '../../src/runtime/logger.js';
import { seededRandom } from '../../src/runtime/random.js';
import { sqliteConnection } from '../../src/store/connection.js';
import { Outbox } from '../../src/store/outbox.js';
import { freshMirror, StandingClock, seedRow, seedSource } from '../store/support/mirror.js';

export const failed: Sent = { kind: 'failed', why: 'answered 503' };
export const delivered: Sent = { kind: 'delivered' };
export const never = new AbortController().signal;

/** Returns the parts with some methods of the outbox replaced. */
export const withOutbox = <Parts extends { readonly outbox: Outbox }>(
  parts: Parts,
  replaced: Partial<Outbox>,
): Parts => ({ ...parts, outbox: Object.assign(Object.create(parts.outbox) as Outbox, replaced) });

/** A real outbox, and receivers with scripted responses. */
export function world(notices: number, answers: Record<string, (notice: DueNotice) => Sent | Promise<Sent>>) {
  const clock = new StandingClock();
  const mirror = freshMirror(clock);
  // Nothing here outlives its process, and some tests write thousands of rows.
  mirror.raw.pragma('synchronous = OFF');
  seedSource(mirror, 1);
  const queue = (seq: number, target: string, body = `{"seq":${seq}}`) =>
    seedRow(mirror, 'notice_rows', {
      source_no: 1,
      seq,
      target,
      body,
      queued_at: new Date(clock.now()).toISOString(),
      next_at: new Date(clock.now()).toISOString(),
    });
  const told: string[] = [];
  const targets = new Map<string, Send>(
    Object.entries(answers).map(([name, answer]) => [
      name,
      async (notice) => {
        told.push(`${name}:${notice.notice}`);
        return answer(notice);
      },
    ]),
  );
  for (const name of Object.keys(answers)) for (let seq = 1; seq <= notices; seq++) queue(seq, name);
  const warned: (readonly [LogFields, string])[] = [];
  const logger: Logger = { ...silentLogger, warn: (fields, message) => warned.push([fields, message]) };
  const parts = {
    outbox: new Outbox(sqliteConnection(mirror)),
    targets,
    clock,
    random: seededRandom(1),
    logger,
  };
  const states = () =>
    mirror.raw
      .prepare("SELECT target || ':' || notice || ' ' || state FROM notice_rows ORDER BY notice")
      .pluck()
      .all();
  const column = (name: string) =>
    mirror.raw.prepare(`SELECT ${name} FROM notice_rows ORDER BY notice`).pluck().all();
  return { clock, mirror, told, warned, parts, states, column, queue };
}
