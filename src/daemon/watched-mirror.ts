import type { Config } from '../config/config.js';
import { defined } from '../domain/defined.js';
import type { Clock } from '../runtime/clock.js';
import { HealthRegister } from '../runtime/health-register.js';
import type { Lifecycle } from '../runtime/lifecycle.js';
import type { Logger } from '../runtime/logger.js';
import { type DatabaseReturn, watchReturn } from './database-return.js';
import { ForgottenLedger } from './forgotten-ledger.js';
import type { OpenMirror } from './mirror-parts.js';
import type { NameBook } from './name-book.js';
import { noticeHooks } from './notices.js';
import { identityRules, openMirror } from './open-mirror.js';
import { WorkWatch } from './work-watch.js';

export interface WatchedMirrorParts {
  readonly config: Config;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Replaces `openMirror` in tests. */
  readonly openMirror?: typeof openMirror;
}

/** A mirror opened for writing, and what notices when its database fails or returns. */
export interface WatchedMirror {
  readonly mirror: OpenMirror;
  /** The problems this process knows of itself. */
  readonly health: HealthRegister;
  readonly watch: WorkWatch;
  /** Adds a listener for the return of a server or the release of another program's lock, called after those that were added before. */
  onDatabaseBack(listener: () => void): void;
}

/** Opens the mirror of the configuration and watches it. `lifecycle` closes it. */
export async function openWatchedMirror(
  { config, clock, logger, openMirror: open = openMirror }: WatchedMirrorParts,
  names: NameBook,
  lifecycle: Lifecycle,
): Promise<WatchedMirror> {
  const health = new HealthRegister();
  let probe: DatabaseReturn | null = null;
  const watch = new WorkWatch({
    register: health,
    clock,
    onAway: () => probe?.away(),
    onWorks: () => probe?.works(),
  });
  const opened = await open(config.database, {
    clock,
    logger,
    ...identityRules(config),
    ledger: new ForgottenLedger(config.forget.ledger),
    ...defined({ notices: noticeHooks(config, names.of) }),
  });
  lifecycle.add('mirror', () => opened.close());
  lifecycle.add('health of the database', () => watch.close());
  const listeners: (() => void)[] = [];
  const onBack = () => {
    for (const listener of listeners) listener();
  };
  opened.onFreed(onBack);
  if (opened.server !== null) {
    probe = watchReturn({
      ask: opened.server.ask,
      clock,
      logger: logger.child({ component: 'database' }),
      onBack,
    });
    lifecycle.add('database probe', probe.close);
  }
  return {
    mirror: watch.over(opened),
    health,
    watch,
    onDatabaseBack: (listener) => void listeners.push(listener),
  };
}
