import { z } from 'zod';
import { defined } from '../../domain/defined.js';
import type { JsonObject } from '../../domain/json.js';
import type { Exchange } from '../http/exchange.js';
import { Problem } from '../http/problem.js';
import { findMember } from '../members/model.js';
import { removalRefusal, removeMember } from '../members/remove.js';
import type { Services } from '../services.js';
import { accessTo, type Rank, rankOf, ranks, requireRank } from '../syndicates/access.js';
import {
  deleteDraft,
  deleteDraftRefusal,
  publishRefusal,
  publishSyndicate,
} from '../syndicates/lifecycle.js';
import { findSyndicate, type Syndicate } from '../syndicates/model.js';
import type { IntentAction } from './action.js';
import type { Intent } from './model.js';

const noParams = z.strictObject({});
const memberParams = z
  .strictObject({ member_id: z.string().max(200).optional(), member: z.string().max(200).optional() })
  .refine(({ member_id, member }) => (member_id ?? member) !== undefined, {
    path: ['member_id'],
    message: 'must be the id of a member (mem_)',
  })
  .transform(({ member_id, member }): JsonObject => ({ member_id: member_id ?? member ?? '' }));

/** Shared by all syndicate actions: managers propose and decide, and the syndicate is read again each time. */
interface SyndicateAct {
  readonly name: string;
  readonly params: z.ZodType<JsonObject>;
  /** The rank required to decide. */
  readonly rank: Extract<keyof typeof ranks, 'operator' | 'full_access'>;
  readonly removedIn?: IntentAction['removedIn'];
  /** Returns the summary for the reviewer. Throws a `Problem` when the action is not possible. */
  summary(services: Services, syndicate: Syndicate, params: JsonObject): string;
  act(
    services: Services,
    syndicate: Syndicate,
    params: JsonObject,
    approverNo: number,
    now: number,
  ): JsonObject;
}

export function syndicateAction(what: SyndicateAct): IntentAction {
  return {
    name: what.name,
    scope: 'write:syndicates',
    resourceType: 'Club',
    decidedBy: 'another',
    dailyLimit: null,
    params: what.params,
    ...defined({ removedIn: what.removedIn }),
    propose(exchange, resourceId, params) {
      const { syndicate } = requireRank(accessAt(exchange, resourceId), 'operator');
      return { resourceId: syndicate.id, summary: what.summary(exchange.services, syndicate, params) };
    },
    mayDecide(services, intent, userNo) {
      const syndicate = syndicateOf(services, intent);
      const rank: Rank | null = syndicate === undefined ? null : rankOf(services.state, syndicate, userNo);
      return rank !== null && rank >= ranks[what.rank];
    },
    execute(services, intent, approverNo, now) {
      const syndicate = syndicateOf(services, intent);
      if (syndicate === undefined) throw refused('The syndicate no longer exists.');
      const params = JSON.parse(intent.params) as JsonObject;
      // Check again: the state may have changed between the proposal and the approval.
      what.summary(services, syndicate, params);
      return what.act(services, syndicate, params, approverNo, now);
    },
  };
}

const accessAt = (exchange: Exchange, id: string) => accessTo({ ...exchange, params: { syndicate_id: id } });

const syndicateOf = (services: Services, intent: Intent): Syndicate | undefined =>
  findSyndicate(services.state, intent.resource_id, intent.realm);

export const refused = (why: string): Problem => new Problem(422, 'unprocessable_entity', why);

function refuseIf(why: string | null): void {
  if (why !== null) throw refused(why);
}

const removal = syndicateAction({
  name: 'syndicates.remove_member',
  params: memberParams,
  rank: 'operator',
  summary(services, syndicate, params) {
    const member = memberOf(services, syndicate, params);
    refuseIf(removalRefusal(member));
    const name = member.name ?? member.id;
    return `Remove ${name} from ${syndicate.name}. They lose access to it and to its deals; what they invested stays.`;
  },
  act(services, syndicate, params, approverNo, now) {
    const removed = removeMember(
      services,
      syndicate.no,
      memberOf(services, syndicate, params).no,
      approverNo,
      now,
    );
    return { syndicate: syndicate.id, member: removed.id, status: 'removed' };
  },
});

function memberOf(services: Services, syndicate: Syndicate, params: JsonObject) {
  try {
    return findMember(services.state, syndicate.no, String(params.member_id));
  } catch (error) {
    // The member is in the body, not in the path, so a 404 becomes a 422.
    if (error instanceof Problem && error.status === 404) throw refused(error.message);
    throw error;
  }
}

const publication = syndicateAction({
  name: 'syndicates.publish',
  params: noParams,
  rank: 'full_access',
  summary(_services, syndicate) {
    refuseIf(publishRefusal(syndicate));
    return `Publish ${syndicate.name}: everybody can find it from then on.`;
  },
  act(services, syndicate, _params, approverNo, now) {
    publishSyndicate(services, syndicate.no, approverNo, now);
    return { syndicate: syndicate.id, published: true };
  },
});

const deletion = syndicateAction({
  name: 'syndicates.delete_draft',
  params: noParams,
  rank: 'full_access',
  summary(services, syndicate) {
    refuseIf(deleteDraftRefusal(services, syndicate));
    return `Delete the draft ${syndicate.name} for good. Applications installed on it lose their access.`;
  },
  act(services, syndicate, _params, approverNo, now) {
    deleteDraft(services, syndicate.no, approverNo, now);
    return { syndicate: syndicate.id, deleted: true };
  },
});

export const syndicateActions: readonly IntentAction[] = [removal, publication, deletion];
