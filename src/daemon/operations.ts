import type { Actor, Operations, OperatorAction, Wish } from '../console/ports/operations.js';
import { counted } from '../domain/counted.js';
import { Fault } from '../domain/fault.js';
import { type Instant, instantFromMillis } from '../domain/instant.js';
import type { FullStatus, StatusPart } from '../reading/status.js';
import type { Clock } from '../runtime/clock.js';
import type { OpenMirror } from './mirror-parts.js';

export interface OperationsParts {
  readonly mirror: Pick<OpenMirror, 'audit' | 'requests' | 'pauses' | 'outbox' | 'alerts'>;
  /** Whether a source of this name is synced; status also shows sources that no configuration has any more. */
  readonly isSource: (name: string) => boolean;
  readonly status: (part: StatusPart) => Promise<Pick<FullStatus, 'sources' | 'counts'>>;
  readonly clock: Clock;
  /** Called when a request was stored, and when a notice or an alert is due again. */
  readonly onRequest: () => void;
  readonly onNotice: () => void;
  readonly onAlert: () => void;
}

const messagesMax = 50;
/** Sources on the page of actions; each source has a page of its own. */
const sourcesMax = 50;
const ifItFails = 'If its receiver fails, it is retried until a day after it was queued, at least once.';

/** What users of the console change, and the log of it. */
export function operationsOf(parts: OperationsParts): Operations {
  const { mirror, clock } = parts;
  const now = (): Instant => instantFromMillis(clock.now());

  const isFollowed = ({ source, follow, followed }: FullStatus['sources'][number]): boolean =>
    parts.isSource(source) || (follow !== null && followed);

  const findSource = async (name: string) => {
    const { sources } = await parts.status({ only: [name], ticksMax: 0 });
    return sources.find((one) => one.source === name && isFollowed(one)) ?? null;
  };

  const requireSource = async (name: string) => {
    const seen = await findSource(name);
    if (seen === null) throw new Fault('usage', `no source of the configuration is called ${name}`);
    return seen;
  };

  const requireUnpaused = async (name: string) => {
    const seen = await requireSource(name);
    if (seen.paused_at !== null) throw new Fault('usage', `${name} is paused`, { hint: 'Resume it first.' });
    return seen;
  };

  /** Stores a request for the daemon that works on the source. */
  const request = async (
    kind: 'resync' | 'accept_deletions' | 'retry_quarantine',
    { source, rows }: Wish,
    { name, role }: Actor,
  ) => {
    const confirmed_rows = kind === 'accept_deletions' ? rows : null;
    await mirror.requests.add({ source, kind, confirmed_rows, actor: name, role, asked_at: now() });
    parts.onRequest();
  };

  const perform: Record<OperatorAction, Operations['perform']> = {
    async resend_notice({ notice }) {
      if (!(await mirror.outbox.resend(notice, now())))
        throw new Fault('usage', `notice ${notice} was delivered or does not exist`);
      parts.onNotice();
      return `Notice ${notice} is sent again now. ${ifItFails}`;
    },
    async resend_alert({ alert }) {
      if (!(await mirror.alerts.resend(alert, now())))
        throw new Fault('usage', `alert ${alert} was delivered or does not exist`);
      parts.onAlert();
      return `Alert ${alert} is sent again now. ${ifItFails}`;
    },
    async pause({ source }) {
      await requireSource(source);
      await mirror.pauses.pause([source], now());
      return `${source} is paused. A page that is being written is finished first; webhooks are still accepted.`;
    },
    async resume({ source }) {
      await requireSource(source);
      await mirror.pauses.resume([source]);
      return `${source} goes on within a second.`;
    },
    async resync(wish, actor) {
      const { source } = await requireUnpaused(wish.source);
      await request('resync', wish, actor);
      return `${source} is listed again from its beginning, starting within seconds. Its stored rows stay readable meanwhile.`;
    },
    async accept_deletions(wish, actor) {
      const { source, awaiting_deletion: awaiting } = await requireUnpaused(wish.source);
      if (awaiting !== wish.rows)
        throw new Fault(
          'usage',
          `${counted(awaiting, 'row')} of ${source} ${awaiting === 1 ? 'awaits' : 'await'} deletion now, not ${wish.rows}: nothing was deleted`,
          { hint: 'Look at them, and confirm again.' },
        );
      if (awaiting === 0) throw new Fault('usage', `no row of ${source} awaits deletion`);
      await request('accept_deletions', wish, actor);
      return `${counted(wish.rows, 'row')} of ${source} ${wish.rows === 1 ? 'is' : 'are'} deleted within seconds.`;
    },
    async retry_quarantine(wish, actor) {
      const { source, quarantine_open: open } = await requireUnpaused(wish.source);
      if (open === 0) throw new Fault('usage', `${source} has no record in quarantine`);
      await request('retry_quarantine', wish, actor);
      return `The records of ${source} in quarantine are read again within seconds. The audit log says how many could be read.`;
    },
  };

  return {
    audit: ({ actor, action, outcome, source, subject, rows, note }) =>
      mirror.audit.add({
        at: now(),
        actor: actor.name,
        role: actor.role,
        action,
        outcome,
        source: source ?? null,
        subject: subject ?? null,
        rows_seen: rows ?? null,
        note: note ?? null,
      }),
    auditSeen: (before, max) => mirror.audit.latest(before, max),
    seen: async () => {
      const { sources, counts } = await parts.status({ sourcesMax, ticksMax: 0 });
      const followed = sources.filter(isFollowed);
      return {
        sources: followed,
        sources_total: counts.sources > sources.length ? counts.sources : followed.length,
        notices: await mirror.outbox.undelivered(messagesMax),
        alerts: await mirror.alerts.undelivered(messagesMax),
        requests: await mirror.requests.list(),
      };
    },
    source: findSource,
    perform: (wish, actor) => perform[wish.action](wish, actor),
  };
}
