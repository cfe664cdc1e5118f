// The account of a caller in ElevenLabs's format: its monthly quota is a subscription.
import { chainOf, type KeyCaller, type LimitStatus } from '../../../accounts.ts';
import type { Fields } from '../../../contract.ts';

/** The limit of an account without a quota: clients read it as a 32-bit integer. */
const unlimited = 2 ** 31 - 1;
/** Members that clients require, and that have no meaning here. */
const counts = 'voice_slots_used voice_limit voice_add_edit_counter max_credit_limit_extension professional_voice_limit'
  .split(' ')
  .concat('professional_voice_slots_used', 'professional_voice_slots_used_in_workspace');
const permissions = 'can_extend_character_limit allowed_to_extend_character_limit can_extend_voice_limit'
  .split(' ')
  .concat('can_use_instant_voice_cloning', 'can_use_professional_voice_cloning', 'has_open_invoices');

/** `status` is the status of the caller's limits. */
export function toSubscription(caller: KeyCaller, status: LimitStatus | undefined): Fields {
  const characters = status?.characters;
  const limit = Math.min(unlimited, ...chainOf(caller).flatMap(({ limits }) => limits.charactersPerMonth ?? []));
  return {
    tier: 'sonant',
    status: 'active',
    character_count: characters ? limit - characters.remaining : 0,
    character_limit: limit,
    next_character_count_reset_unix: characters ? Math.floor(Date.now() / 1000) + characters.fullInSeconds : null,
    current_overage: { amount: '0', currency: 'usd' },
    open_invoices: [],
    ...Object.fromEntries(counts.map((name) => [name, 0])),
    ...Object.fromEntries(permissions.map((name) => [name, false])),
  };
}

export const toUser = (caller: KeyCaller, status: LimitStatus | undefined): Fields => ({
  user_id: caller.accountId,
  workspace_id: caller.accountId,
  subscription: toSubscription(caller, status),
  is_new_user: false,
  // A key is never repeated.
  xi_api_key: null,
  can_use_delayed_payment_methods: false,
  is_onboarding_completed: true,
  is_onboarding_checklist_completed: true,
  seat_type: 'workspace_member',
  created_at: 0,
});
