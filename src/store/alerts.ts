import { type Instant, instantFromMillis, millisOf } from '../domain/instant.js';
import {
  type AlertKind,
  type DueNotice,
  noticeWaitMillisMax,
  type OpenAlert,
  type Outbox,
  type Spacing,
} from '../outbox/ports.js';
import type { Connection } from './connection.js';

export interface AlertDraft {
  readonly key: string;
  readonly source: string | null;
  readonly target: string;
  readonly body: string;
}

/**
 * Alerts for operators: which are open, and the messages about them, delivered like notices. A message is queued before
 * the state that it reports is stored, so a crash in between repeats the message instead of losing it.
 */
export class Alerts implements Outbox {
  constructor(private readonly connection: Connection) {}

  async open(): Promise<readonly OpenAlert[]> {
    const rows = await this.connection.run((db) =>
      db.selectFrom('open_alerts').selectAll().orderBy('key').execute(),
    );
    return rows.map(({ kind, since, gone_since, ...row }) => ({
      ...row,
      kind: kind as AlertKind,
      since: since as Instant,
      goneSince: gone_since as Instant | null,
    }));
  }

  async queue(drafts: readonly AlertDraft[], at: Instant): Promise<void> {
    if (drafts.length === 0) return;
    const rows = drafts.map(({ source, ...draft }) => ({
      ...draft,
      source: source ?? '',
      queued_at: at,
      next_at: at,
    }));
    await this.connection.run((db) => db.insertInto('alert_rows').values(rows).execute());
  }

  async raise(alerts: readonly OpenAlert[]): Promise<void> {
    if (alerts.length === 0) return;
    const rows = alerts.map(({ goneSince, ...alert }) => ({ ...alert, gone_since: goneSince }));
    await this.connection.run((db) =>
      db
        .insertInto('open_alerts')
        .values(rows)
        .onConflict((conflict) => conflict.column('key').doNothing())
        .execute(),
    );
  }

  async mark(keys: readonly string[], goneSince: Instant | null): Promise<void> {
    if (keys.length === 0) return;
    await this.connection.run((db) =>
      db.updateTable('open_alerts').set({ gone_since: goneSince }).where('key', 'in', keys).execute(),
    );
  }

  async resolve(keys: readonly string[]): Promise<void> {
    if (keys.length === 0) return;
    await this.connection.run((db) => db.deleteFrom('open_alerts').where('key', 'in', keys).execute());
  }

  async dueFor(target: string, now: Instant, max: number): Promise<readonly DueNotice[]> {
    const latest = instantFromMillis(millisOf(now) + noticeWaitMillisMax);
    const rows = await this.connection.run((db) =>
      db
        .selectFrom('alert_rows')
        .select(['notice', 'source', 'target', 'body', 'queued_at', 'attempts', 'next_at'])
        .where('state', '=', 'pending')
        .where('target', '=', target)
        .orderBy('notice')
        .limit(max)
        .execute(),
    );
    // In order: the first that waits for another attempt blocks those behind it.
    const blocking = rows.findIndex(({ next_at }) => next_at > now && next_at <= latest);
    return (blocking === -1 ? rows : rows.slice(0, blocking)).map(({ queued_at, next_at: _, ...row }) => ({
      ...row,
      queuedAt: queued_at as Instant,
    }));
  }

  async waiting(): Promise<readonly { readonly target: string; readonly dueAt: Instant }[]> {
    const rows = await this.connection.run((db) =>
      db
        .selectFrom('alert_rows')
        .select(({ fn }) => ['target', fn.max<string>('next_at').as('dueAt')])
        .where('state', '=', 'pending')
        .groupBy('target')
        .execute(),
    );
    return rows.map(({ target, dueAt }) => ({ target, dueAt: dueAt as Instant }));
  }

  /** Alerts are few and deduplicated: they are not spaced out. */
  async about(): Promise<Spacing> {
    return { triedAt: null, earlier: null };
  }

  async putOff(notice: number, until: Instant): Promise<void> {
    await this.connection.run((db) =>
      db.updateTable('alert_rows').set({ next_at: until }).where('notice', '=', notice).execute(),
    );
  }

  async merge(into: number, notice: number, body: string): Promise<void> {
    await this.connection.run((db) =>
      db.updateTable('alert_rows').set({ body }).where('notice', '=', into).execute(),
    );
    await this.drop([notice]);
  }

  async drop(notices: readonly number[]): Promise<void> {
    await this.connection.run((db) =>
      db.deleteFrom('alert_rows').where('notice', 'in', notices).where('state', '=', 'pending').execute(),
    );
  }

  async begin(notice: number): Promise<string | null> {
    const row = await this.connection.run((db) =>
      db
        .updateTable('alert_rows')
        .set((set) => ({ attempts: set('attempts', '+', 1) }))
        .where('notice', '=', notice)
        .where('state', '=', 'pending')
        .returning('body')
        .executeTakeFirst(),
    );
    return row?.body ?? null;
  }

  delivered(notice: number, at: Instant): Promise<void> {
    return this.#settle(notice, { state: 'delivered', delivered_at: at, next_at: at, last_error: null });
  }

  retryLater(notice: number, nextAt: Instant, error: string): Promise<void> {
    return this.#settle(notice, { next_at: nextAt, last_error: error });
  }

  giveUp(notice: number, at: Instant, error: string): Promise<void> {
    return this.#settle(notice, { state: 'given_up', next_at: at, last_error: error });
  }

  /** Returns the newest messages that were given up or whose last attempt failed. */
  async undelivered(max: number) {
    return await this.connection.run((db) =>
      db
        .selectFrom('alert_rows')
        .select(['notice as alert', 'key', 'target', 'queued_at', 'state', 'attempts', 'last_error'])
        .where('state', '<>', 'delivered')
        .where('last_error', 'is not', null)
        .orderBy('notice', 'desc')
        .limit(max)
        .execute(),
    );
  }

  /** Makes an undelivered message due now, as if it had not been tried. Returns false when there is no such message. */
  async resend(alert: number, at: Instant): Promise<boolean> {
    const result = await this.connection.run((db) =>
      db
        .updateTable('alert_rows')
        .set({ state: 'pending', next_at: at, attempts: 0, last_error: null })
        .where('notice', '=', alert)
        .where('state', '<>', 'delivered')
        .executeTakeFirstOrThrow(),
    );
    return Number(result.numUpdatedRows) > 0;
  }

  /** Deletes messages delivered before `before`. */
  async purge(before: Instant): Promise<number> {
    const result = await this.connection.run((db) =>
      db
        .deleteFrom('alert_rows')
        .where('state', '=', 'delivered')
        .where('delivered_at', '<', before)
        .executeTakeFirstOrThrow(),
    );
    return Number(result.numDeletedRows);
  }

  async #settle(
    notice: number,
    change: {
      state?: 'delivered' | 'given_up';
      delivered_at?: string;
      next_at: string;
      last_error: string | null;
    },
  ): Promise<void> {
    await this.connection.run((db) =>
      db
        .updateTable('alert_rows')
        .set(change)
        .where('notice', '=', notice)
        .where('state', '=', 'pending')
        .execute(),
    );
  }
}
