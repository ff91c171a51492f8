import { codec, isText, type Codec } from './validation.js'

const pattern = /^(auto|[a-z]{2,3}(-[a-z\d]{1,8})*)$/i

/** The language of a session: a tag of BCP 47 that begins with a code of ISO 639, or `auto` (PROTOCOL 4.2). */
export const languageTag: Codec<string> = codec(
  'a language such as "en" or "en-US", or "auto"',
  (value): value is string => isText(value) && pattern.test(value),
)

/** The code of ISO 639 in a tag, in lower case: `en` of `en-US`. */
export const primaryLanguage = (tag: string): string => tag.replace(/-.*/, '').toLowerCase()
