import type { z } from 'zod';
import type { JsonObject } from '../../domain/json.js';
import type { Version } from '../../wire/versions.js';
import type { Exchange } from '../http/exchange.js';
import type { Services } from '../services.js';
import type { Intent } from './model.js';

/** What may be proposed, as the person who decides will read it. */
export interface Plan {
  readonly resourceId: string;
  readonly summary: string;
}

/**
 * One kind of thing a person must decide. `propose` and `execute` throw a `Problem` for what cannot be done; its
 * message is what the proposer, or the record of the failed intent, says.
 */
export interface IntentAction {
  readonly name: string;
  readonly scope: string;
  readonly resourceType: 'Club' | 'Company';
  readonly removedIn?: Version;
  /** The proposer never decides; where somebody's own words are meant, nobody but the proposer does. */
  readonly decidedBy: 'another' | 'proposer';
  /** People may propose it this often a day; null when only the hourly limit counts. */
  readonly dailyLimit: 'commentProposals' | null;
  readonly params: z.ZodType<JsonObject>;
  /** Whether the caller may propose this on the resource at all, and whether it could be done now. */
  propose(exchange: Exchange, resourceId: string, params: JsonObject): Plan;
  mayDecide(services: Services, intent: Intent, userNo: number): boolean;
  /** Runs inside a transaction: done whole or not at all. */
  execute(services: Services, intent: Intent, approverNo: number, now: number): JsonObject;
}
