import { openConnectionPool } from '../client/fetch/connection-pool.js';
import type { Config, NoticeConfig } from '../config/config.js';
import { environmentWithoutSecrets } from '../config/secret-variables.js';
import { decideNotices, foldNotices, type NamesOf } from '../outbox/decide-notices.js';
import type { DeliveryParts } from '../outbox/deliver.js';
import type { PostFetch, Send } from '../outbox/ports.js';
import { type CommandParts, sendToCommand } from '../outbox/send-command.js';
import { sendSigned, sendToSlack } from '../outbox/send-http.js';
import type { Clock } from '../runtime/clock.js';
import { proxiesOf } from '../runtime/proxy.js';
import type { NoticeHooks } from '../store/committed-change.js';

/** Returns the hooks with which commits enqueue notices; undefined when no notices are configured. */
export function noticeHooks({ notices }: Config, namesOf?: NamesOf): NoticeHooks | undefined {
  const receivers = notices.filter(({ about }) => about.includes('changes'));
  if (receivers.length === 0) return undefined;
  return { draft: (changes) => decideNotices(changes, receivers, namesOf), fold: foldNotices };
}

export interface NoticeTargets {
  readonly targets: DeliveryParts['targets'];
  close(): Promise<void>;
}

/**
 * Uses a dedicated connection pool, so that a slow receiver of notices cannot use up the platform's sockets. Receivers are
 * independent, and each gets one request at a time: there is a connection for each, even when all are on one host.
 */
export function noticeTargets(config: Config, clock: Clock): NoticeTargets {
  const pool = openConnectionPool({
    connections: Math.max(1, config.notices.length),
    proxyFor: proxiesOf(config.proxy),
  });
  const env = environmentWithoutSecrets(config, process.env);
  const targets = new Map(
    config.notices.map((notice) => [notice.name, sendTo(notice, pool.fetch, { clock, env })]),
  );
  return { targets, close: () => pool.close() };
}

function sendTo(notice: NoticeConfig, fetch: PostFetch, parts: CommandParts): Send {
  const { clock } = parts;
  switch (notice.kind) {
    case 'slack':
      return sendToSlack(() => notice.webhookUrl.reveal(), { fetch, clock });
    case 'http':
      return sendSigned(notice.url, () => notice.secret.reveal(), { fetch, clock });
    case 'command':
      return sendToCommand(notice.command, parts);
  }
}
