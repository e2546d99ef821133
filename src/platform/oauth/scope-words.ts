import { type Html, html } from '../../runtime/html.js';

/** One line per scope for the consent page. */
const words: Readonly<Record<string, string>> = {
  'read:public': 'See the public catalog',
  'read:explore': 'See the rounds you can see, including private ones',
  'read:profile': 'See your profile, the companies you follow and your activity',
  'write:profile': 'Change your profile and disconnect applications',
  'read:profile:follows': 'See the companies you follow',
  'write:follows': 'Follow and unfollow companies on your behalf',
  'write:comments': 'Draft questions and comments for you to approve',
  'read:investments': 'See your investments and portfolio, and the investments in companies you edit',
  'read:companies': 'See the companies you help manage, with their rounds and investors',
  'read:webhooks': 'See its webhook endpoints',
  'write:webhooks': 'Manage its webhook endpoints',
  'read:installations': 'See where it is installed',
  'write:installations': 'Install itself on companies and syndicates you edit',
  'read:investors:pii': 'See names, email addresses and postal addresses of investors',
  'read:syndicates': 'See the syndicates you manage',
  'write:syndicates': 'Change the syndicates you manage and their members',
  'read:invite_links': 'See investment links and invitations',
  'write:invite_links': 'Create investment links and invite people',
  'read:investment_sessions': 'See hosted investment sessions',
  'write:investment_sessions': 'Start hosted investment sessions',
  'write:syndicate_members': 'Invite people to join your syndicates',
};

/** Scopes that change data or reveal other people are highlighted. */
export function scopeItem(scope: string): Html {
  const strong = scope.startsWith('write:') || scope === 'read:investors:pii';
  const line = words[scope] ?? 'Use a feature of a partner program';
  return html`<li><span${strong ? html` class="strong"` : null}>${line}</span> <code>${scope}</code></li>`;
}
