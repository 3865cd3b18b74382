const maxLength = 200;

/** Text for a report: at most 200 characters, cut between characters, the rest as an ellipsis. */
export function shortText(text: string): string {
  if (text.length <= maxLength) return text;
  const last = text.charCodeAt(maxLength - 2);
  const end = last >= 0xd800 && last <= 0xdbff ? maxLength - 2 : maxLength - 1;
  return `${text.slice(0, end)}…`;
}
