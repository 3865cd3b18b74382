/** Which generation of an account's delivery configuration. */
export interface ConfigurationKey {
  readonly accountId: string;
  readonly deliveryConfigId: string;
  readonly deliveryConfigVersion: number;
}

/** The generation's subject in the journal. Ids hold no "/", so it is unambiguous within an account. */
export function configurationSubject(key: ConfigurationKey): string {
  return `${key.deliveryConfigId}/${key.deliveryConfigVersion}`;
}
