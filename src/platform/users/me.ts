import { callerOf, type Exchange, ok, type Reply, userOf } from '../http/exchange.js';
import { isoOrNull } from '../http/timestamps.js';
import { one } from '../state/statements.js';

interface Row {
  readonly id: string;
  readonly email: string;
  readonly username: string;
  readonly name: string;
  readonly legal_name: string;
  readonly bio: string | null;
  readonly address: string | null;
  readonly avatar_url: string | null;
  readonly created_at: number;
  readonly certified_at: number | null;
}

const meSql = `SELECT u.id, u.email, u.username, u.name, u.legal_name, u.bio, u.address, p.avatar_url, u.created_at,
  p.certified_at FROM users u LEFT JOIN user_profiles p ON p.user_no = u.no WHERE u.no = ?`;

export function answerMe(exchange: Exchange): Reply {
  const row = one<Row>(exchange.services.state, meSql, [userOf(exchange).userNo]);
  if (row === undefined) throw new Error('a user token without a user');
  const identified = { id: row.id, type: 'user' };
  if (!callerOf(exchange).scopes.has('read:profile')) return ok({ data: identified });
  const address = row.address === null ? {} : (JSON.parse(row.address) as Record<string, string | null>);
  return ok({
    data: {
      ...identified,
      attributes: {
        email: row.email,
        username: row.username,
        name: row.name,
        full_name: row.legal_name,
        bio: row.bio,
        city: address.city ?? null,
        country: address.country ?? null,
        avatar_url: row.avatar_url,
        created_at: new Date(row.created_at).toISOString(),
        certified_at: isoOrNull(row.certified_at),
      },
    },
  });
}
