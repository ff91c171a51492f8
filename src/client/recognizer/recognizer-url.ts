import { SpeechError } from '../../errors/speech-error.js'
import { isLoopback } from '../../protocol/loopback.js'

export interface RecognizerUrlOptions {
  readonly modelName: string
  readonly appendModelName: boolean
  readonly allowInsecure: boolean
}

/**
 * The address of the recognition socket (decisions.md: WebSocket path): `/recognizer?ModelName=<model>` below a host
 * that comes without a path; a path of its own is kept. A token must not travel in clear text, so `ws:` is for
 * loopback unless it is allowed.
 */
export const recognizerUrl = (
  base: string,
  { modelName, appendModelName, allowInsecure }: RecognizerUrlOptions,
): string => {
  const url = URL.canParse(base) ? new URL(base) : undefined
  if (url === undefined || (url.protocol !== 'wss:' && url.protocol !== 'ws:')) {
    throw new SpeechError('invalid-options', 'url must be an address such as wss://speech.example.com.')
  }
  if (url.protocol === 'ws:' && !allowInsecure && !isLoopback(url.hostname)) {
    throw new SpeechError(
      'invalid-options',
      'url must begin with wss: the token would travel in clear text; or set allowInsecure.',
    )
  }
  if (url.pathname === '/') url.pathname = '/recognizer'
  if (appendModelName && !url.searchParams.has('ModelName')) url.searchParams.set('ModelName', modelName)
  url.hash = ''
  return url.href
}
