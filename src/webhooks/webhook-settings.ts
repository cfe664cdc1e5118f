// The setting of webhooks: where they may go besides public addresses.
import { isAddressBlock } from '../net/address-list.ts';
import { listSetting } from '../runtime/setting.ts';

export const webhookSettings = {
  webhookAllow: listSetting({
    name: 'SONANT_WEBHOOK_ALLOW',
    help: 'Where webhooks may go besides public addresses, there also without TLS: host names, addresses and CIDR blocks, separated by commas',
    allowed: 'host names such as hooks.internal, addresses, or CIDR blocks such as 10.0.0.0/8',
    isItem: (item) => isAddressBlock(item) || /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(item),
  }),
};
