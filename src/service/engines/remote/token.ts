import { Subject, type Observable } from 'rxjs'
import { nodeFetch } from '../../../auth/node-fetch.js'
import { requestToken } from '../../../auth/request-token.js'
import { keepFresh } from '../../../auth/keep-fresh.js'
import type { Token } from '../../../protocol/token.js'
import type { ModelDescription } from '../engine.js'
import { invalidModel, readModelFile } from '../models/model-files.js'
import type { RemoteOptions } from './options.js'

/** Environment variables by name, such as `process.env`. */
export type Environment = Readonly<Record<string, string | undefined>>

/** One token for all segments of a model, requested when it is first needed and kept fresh. */
export interface RemoteToken {
  readonly token$: Observable<Token>
  /** Told of a token that the other service refused, so that another is requested. */
  readonly rejected$: Subject<Pick<Token, 'accessToken'>>
}

/** The secret, from where `model.json` says; rejects with `invalid-model` that names the place and never what is there. */
const readSecret = async (
  model: ModelDescription,
  { secretFrom }: RemoteOptions,
  env: Environment,
): Promise<string> => {
  if ('env' in secretFrom) {
    const secret = env[secretFrom.env] ?? ''
    if (secret !== '') return secret
    throw invalidModel(model, `"secretFrom" names the environment variable ${secretFrom.env}, which is not set.`)
  }
  const secret = (await readModelFile(model, 'secretFrom', secretFrom.file)).trim()
  if (secret !== '') return secret
  throw invalidModel(model, `"secretFrom" names the file ${JSON.stringify(secretFrom.file)}, which is empty.`)
}

/** Rejects with `invalid-model`, `invalid-options` where an address is none. Requests nothing yet. */
export const openRemoteToken = async (
  model: ModelDescription,
  options: RemoteOptions,
  { ca, env }: { readonly ca: string | undefined; readonly env: Environment },
): Promise<RemoteToken> => {
  const rejected$ = new Subject<Pick<Token, 'accessToken'>>()
  const { authUrl, clientId } = options
  const clientSecret = await readSecret(model, options, env)
  const fetch = nodeFetch(ca === undefined ? {} : { ca })
  return { rejected$, token$: requestToken({ authUrl, clientId, clientSecret, fetch }).pipe(keepFresh({ rejected$ })) }
}
