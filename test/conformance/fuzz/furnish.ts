import { defined } from '../../../src/domain/defined.js';
import type { RunningPlatform } from '../running-platform.js';
import type { Known } from './known.js';

/** Creates, through the API, one of everything that only an application makes and the seeded data lacks. */
export async function furnish(world: RunningPlatform, known: Known): Promise<void> {
  const { companies, syndicates, users } = world.ready;
  const [company, syndicate, owner] = [companies[0], syndicates[0], users[0]];
  const round = `/offerings/${company?.offerings[1]}`;
  const make = async (
    template: string,
    path: string,
    token: string | undefined,
    body: unknown,
  ): Promise<void> => {
    const answer = await world.post(path, { ...defined({ token }), body });
    if (answer.status >= 300) throw new Error(`${path} could not be created: ${JSON.stringify(answer.body)}`);
    known.learn(template, path, answer.body);
  };
  const syndicatePath = `/syndicates/${syndicate?.id}`;
  const members = await world.get(`${syndicatePath}/members?role=member`, { token: syndicate?.token ?? '' });
  const member = members.body.data.at(-1)?.id;
  await make('/offerings/{id}/investment_sessions', `${round}/investment_sessions`, company?.token, {
    investment_session: { email: 'ida@people.example' },
  });
  await make('/offerings/{id}/invite_links', `${round}/invite_links`, company?.token, {
    invite_link: { email: 'ivan@people.example', allocation_cents: 50_000 },
  });
  await make('/intents', '/intents', syndicate?.token, {
    action: 'syndicates.remove_member',
    resource_id: syndicate?.id,
    params: { member_id: member },
    idempotency_key: 'furnished',
  });
  await make('/syndicates/{id}/join_sessions', `${syndicatePath}/join_sessions`, syndicate?.token, {
    join_session: { email: 'new@mail.example' },
  });
  for (const email of ['invited@mail.example', 'asked@mail.example']) {
    await make('/syndicates/{id}/members', `${syndicatePath}/members/invite`, syndicate?.token, { email });
  }
  await make('/webhook_endpoints', '/webhook_endpoints', owner?.liveToken, {
    url: 'https://hooks.example/roster',
    events: ['investment.changed', 'offering.opened'],
  });
}
