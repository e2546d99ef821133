import { describe, expect, test } from 'vitest';
import { memberRequests, refusal } from './member-requests.js';
import { foundSyndicate } from './syndicate-life.js';
import { createEndpointFor, type SubscribedEndpoint } from './webhook-receivers.js';

const { world, own, act, setMember } = await memberRequests();

describe('exporting members', () => {
  test('MEM-29 MEM-30 the export returns the CSV directly, with quoting where needed and no formulas', async () => {
    const syndicate = foundSyndicate(world);
    const evil = syndicate.add('=HYPERLINK("http://x")', 'operator', {
      accredited: true,
      address: { city: '\t@Bath', state: 'ME', country: '-2+3' },
    });
    setMember(evil, { title: ' +1, "boss"', tags: '["one","two"]', carry_percentage_override: 5 });
    const answer = await world.post(`${syndicate.path}/members/export_csv`, {
      token: syndicate.token(evil),
    });
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8');
    expect(answer.headers.get('content-disposition')).toMatch(
      /^attachment; filename="members_life-\d+\.csv"$/,
    );
    const [header, ...rows] = (answer.body as string).split(/\n(?=mem_|$)/);
    expect(header).toBe(
      'Member ID,Name,Legal Name,Email,Role,Permission,Title,Accredited,City,State,Country,Tags,Private Tags,Starred,Investment Total,Deals,Carry Override,Joined At (UTC)',
    );
    const at = new Date(world.services.clock.now()).toISOString().slice(0, 19).replace('T', ' ');
    expect(rows[1]).toBe(
      `${evil.id},"'=HYPERLINK(""http://x"")","'=HYPERLINK(""http://x"") Legal",${evil.person.email},manager,operator,` +
        `"' +1, ""boss""",Yes,'\t@Bath,ME,'-2+3,"one\ntwo",,,0,0,5,${at}`,
    );
    expect(rows).toHaveLength(3);
  });

  test('MEM-30 the export begins with a byte order mark, so that spreadsheets read its letters', async () => {
    const syndicate = foundSyndicate(world);
    const answer = await fetch(`${world.url}${syndicate.path}/members/export_csv`, {
      method: 'POST',
      headers: { authorization: `Bearer ${syndicate.creatorToken}` },
    });
    expect(Buffer.from(await answer.arrayBuffer()).toString('latin1')).toMatch(/^\xef\xbb\xbfMember ID/);
  });

  test('MEM-29 the export requires operator permission', async () => {
    const answer = await world.post(`${own.path}/members/export_csv`, { token: own.token(own.add('Mia')) });
    expect(refusal(answer)).toEqual([403, 'forbidden']);
  });
});

test('MEM-20 the member actions ignore a request body', async () => {
  const syndicate = foundSyndicate(world);
  const apu = syndicate.add('Apu', 'applicant');
  const answer = await world.post(`${syndicate.path}/members/${apu.id}/approve`, {
    token: syndicate.creatorToken,
    body: 'not json',
  });
  expect(answer.status).toBe(200);
});

test('EVT-07 EVT-08 member events reach exactly the installs on the syndicate with read:syndicates', async () => {
  const syndicate = foundSyndicate(world);
  const endpoints: Record<string, SubscribedEndpoint> = {
    reads: createEndpointFor(world, { syndicateNo: syndicate.no, scopes: ['read:syndicates'] }),
    writes: createEndpointFor(world, { syndicateNo: syndicate.no, scopes: ['write:syndicates'] }),
    other: createEndpointFor(world, {
      syndicateNo: syndicate.no,
      scopes: ['read:companies', 'write:syndicate_members'],
    }),
    elsewhere: createEndpointFor(world, {
      syndicateNo: foundSyndicate(world).no,
      scopes: ['read:syndicates'],
    }),
    company: createEndpointFor(world, { companyNo: 1, scopes: ['read:syndicates'] }),
    connected: createEndpointFor(world, { userNo: syndicate.creator.person.no, scopes: ['read:syndicates'] }),
  };
  const token = syndicate.creatorToken;
  const invited = await world.post(`${syndicate.path}/members/invite`, {
    token,
    body: { email: 'told@people.example' },
  });
  await act(syndicate, invited.body.data, 'resend_invite');
  await act(syndicate, syndicate.add('Apu', 'applicant'), 'approve');
  await act(syndicate, syndicate.add('Mia'), 'hide');
  await act(syndicate, syndicate.add('Ada', 'applicant'), 'hide');
  const expected = ['invited', 'reinvited', 'approved', 'joined', 'left', 'declined'].map(
    (name) => `syndicate_member.${name}`,
  );
  for (const [name, endpoint] of Object.entries(endpoints)) {
    expect([name, endpoint.delivered()]).toEqual([name, ['reads', 'writes'].includes(name) ? expected : []]);
  }
});
