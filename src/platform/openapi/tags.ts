import type { oas31 } from 'zod-openapi';
import type { Operation } from '../contract/operation.js';
import { eventTag } from './event-items.js';

const descriptions: Readonly<Record<string, string>> = {
  Investments:
    'The records of a company, as its founders see them, and the feed that tells every change of them.',
  OAuth: 'How people and applications get tokens, and how tokens end.',
  'Developer portal': 'Applications of an organization: keys, scopes, review.',
  Installations: 'Where an application is installed, and the tokens that belong to a company or syndicate.',
  Syndicates: 'Groups that invest together: their settings and numbers.',
  'Syndicate deals': 'What a syndicate invests in.',
  'Syndicate members': 'Who belongs to a syndicate, who is invited, who applied.',
  'Join sessions': 'Links by which a person joins a syndicate.',
  'Webhook endpoints': 'Addresses that are told what happens.',
  Documentation: 'This description.',
  [eventTag]: 'What webhook endpoints are sent.',
};

/** In the order the operations come in. */
export function tagsOf(operations: readonly Operation[]): readonly oas31.TagObject[] {
  const names = new Set([...operations.map(({ tag }) => tag), eventTag]);
  return [...names].map((name) => ({ name, ...described(name) }));
}

function described(name: string): { description?: string } {
  const description = descriptions[name];
  return description === undefined ? {} : { description };
}
