import type { Instant } from '../domain/instant.js';
import type { AlertKind, DueNotice, OpenAlert, Outbox, Spacing } from '../outbox/ports.js';
import type { Connection } from './connection.js';
import { MessageQueue, unblocked } from './message-queue.js';

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
export class Alerts extends MessageQueue implements Outbox {
  constructor(connection: Connection) {
    super(connection, 'alert_rows');
  }

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

  /** Returns who was sent a message about each of these alerts, and when it was queued; nothing of purged messages. */
  async told(
    keys: readonly string[],
  ): Promise<readonly { readonly key: string; readonly target: string; readonly at: Instant }[]> {
    if (keys.length === 0) return [];
    const rows = await this.connection.run((db) =>
      db
        .selectFrom('alert_rows')
        .select(['key', 'target', 'queued_at as at'])
        .where('key', 'in', keys)
        .execute(),
    );
    return rows.map((row) => ({ ...row, at: row.at as Instant }));
  }

  async dueFor(target: string, now: Instant, max: number): Promise<readonly DueNotice[]> {
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
    return unblocked(rows, now);
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

  /** Alerts are few and deduplicated: they are not spaced out, and none is merged into another. */
  async about(): Promise<Spacing> {
    return { triedAt: null, earlier: null };
  }

  async merge(): Promise<void> {}

  async drop(): Promise<void> {}

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
}
