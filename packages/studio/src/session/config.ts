import { defer, tap, type Observable } from 'rxjs'
import { keepFresh, type Token } from 'rxspeech'

/** A model that the service offers. */
export interface Model {
  readonly name: string
  readonly version: string
  /** Absent if all tenants have it. */
  readonly tenant?: string
  readonly sampleRateHz?: number
  /** What it recognizes, such as `any English speech`; absent if another version of the service does not say. */
  readonly reads?: string
  /** The languages of which a session can choose one, if they are known: tags such as `en`. */
  readonly languages?: readonly string[]
  /** Whether sessions may have phrases; absent if that is not known. */
  readonly takesPhrases?: boolean
  /** Whether it recognizes the sample call. */
  readonly isSample?: boolean
}

/** What the service tells the page. */
export interface StudioConfig {
  /** The base address of the recognition socket; empty where no session can be opened, only operations be shown. */
  readonly ws: string
  /** The address to which the page sends a POST for a token; null if a person has to enter one. */
  readonly token: string | null
  readonly models: readonly Model[]
  readonly projects: readonly string[]
  /** The address of the sample call, a WAV file; absent if there is none. */
  readonly sampleCall?: string | null
  /** The address of the metrics; absent if the page may not read them. */
  readonly metrics?: string | null
  /** The address of the last hour; absent if the page may not read it. */
  readonly operations?: string | null
}

/** Whether the page is at the address of operators. */
export const isForOperators = ({ ws }: StudioConfig): boolean => ws === ''

/** Like `fetch`, with one sentence for a service that cannot be reached; each browser has another. */
export const fetchOfService = async (url: string, init?: RequestInit): Promise<Response> => {
  try {
    return await fetch(url, init)
  } catch (error) {
    init?.signal?.throwIfAborted()
    throw new Error('The service cannot be reached. Check that it runs.', { cause: error })
  }
}

export const loadConfig = async (token = ''): Promise<StudioConfig> => {
  const headers = token === '' ? {} : { Authorization: `Bearer ${token}` }
  const response = await fetchOfService('/studio/config.json', { cache: 'no-store', headers })
  if (!response.ok) throw new Error(`The service does not describe itself: it answered ${response.status}.`)
  return (await response.json()) as StudioConfig
}

/** Tokens of the service: one for all connections of a session, until it expires or is refused, as after a restart. */
export const pageTokens = (
  url: string,
  rejected$: Observable<Pick<Token, 'accessToken'>>,
  taken: (expiresAtMs: number) => void,
): Observable<Token> =>
  defer(() => requestPageToken(url)).pipe(
    tap(({ expiresAtMs }) => taken(expiresAtMs)),
    keepFresh({ rejected$, renewBeforeMs: 30_000 }),
  )

const requestPageToken = async (url: string): Promise<Token> => {
  const response = await fetch(url, { method: 'POST' })
  if (!response.ok) throw new Error(`The service gave no token: it answered ${response.status}.`)
  const { access_token: accessToken, expires_in: expiresInSeconds } = (await response.json()) as {
    readonly access_token: string
    readonly expires_in: number
  }
  return { accessToken, tokenType: 'Bearer', expiresAtMs: Date.now() + expiresInSeconds * 1000 }
}
