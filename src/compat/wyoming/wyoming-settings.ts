// The settings of the Wyoming listener. Its protocol has no authentication: who reaches it speaks with the operator's key.

import { parseApiKey } from '../../access/api-key.ts';
import { isAddressBlock } from '../../net/address-list.ts';
import { listSetting, optionalAddressSetting, textSetting } from '../../runtime/setting.ts';

export const wyomingSettings = {
  wyomingAddr: optionalAddressSetting({
    name: 'SONANT_WYOMING_ADDR',
    help: 'Address of the listener for Home Assistant (the Wyoming protocol), such as 127.0.0.1:10200; default: it is off',
  }),
  wyomingKey: textSetting({
    name: 'SONANT_WYOMING_KEY',
    help: 'The API key with which all clients of SONANT_WYOMING_ADDR speak; it needs speech:stream and voices:read',
    allowed: 'an API key as sonant key create prints them',
    isAllowed: (given) => parseApiKey(given) !== undefined,
    secret: true,
  }),
  wyomingAllow: listSetting({
    name: 'SONANT_WYOMING_ALLOW',
    help: 'Addresses besides this machine that may connect to SONANT_WYOMING_ADDR, which asks for no key; separated by commas',
    allowed: 'IP addresses and CIDR blocks such as 192.168.1.0/24',
    isItem: isAddressBlock,
  }),
};
