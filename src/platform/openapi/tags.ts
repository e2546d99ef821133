import type { oas31 } from 'zod-openapi';
import { defined } from '../../domain/defined.js';
import type { Operation } from '../contract/operation.js';
import { eventTag } from './event-items.js';

const descriptions: Readonly<Record<string, string>> = {
  Investments:
    'The investment records of a company, as its founders see them, and the feed of their changes.',
  OAuth: 'Issue, refresh and revoke tokens for users and applications.',
  'Developer portal': 'Applications of an organization: keys, scopes and review.',
  Installations: 'Installations of an application on companies and syndicates, and their tokens.',
  Syndicates: 'Groups that invest together: settings and statistics.',
  'Syndicate deals': 'Offerings that a syndicate invests in.',
  'Syndicate members': 'Members, invitees and applicants of a syndicate.',
  'Join sessions': 'Hosted links with which a person joins a syndicate.',
  'Webhook endpoints': 'URLs that receive events.',
  Documentation: 'This description.',
  [eventTag]: 'Events sent to webhook endpoints.',
};

/** Returns the tags in the order of the operations. */
export function tagsOf(operations: readonly Operation[]): readonly oas31.TagObject[] {
  const names = new Set([...operations.map(({ tag }) => tag), eventTag]);
  return [...names].map((name) => ({ name, ...described(name) }));
}

function described(name: string): { description?: string } {
  const description = descriptions[name];
  return defined({ description });
}
