import { formEndpoint, type FormEndpointOptions, type HttpEndpoint } from './form-endpoint.js'
import { replayForm } from './form-body.js'
import type { SigningKeys } from './signing-keys.js'
import { openTokenProvider, tokenRoute, type TokenProvider, type TokenProviderOptions } from './token-provider.js'

export interface TokenEndpointOptions extends Omit<TokenProviderOptions, 'keys'>, FormEndpointOptions {
  readonly keys: SigningKeys
}

/**
 * `POST /connect/token` (service.md 4.3): a form that is as it should be goes to the provider, with the keys of the day.
 * Never rejects.
 */
export const createTokenEndpoint = async (options: TokenEndpointOptions): Promise<HttpEndpoint> => {
  const { keys, onFault } = options
  const openProvider = (): Promise<TokenProvider> => openTokenProvider({ ...options, keys: keys.current() })
  let list = keys.current()
  let provider = await openProvider()

  // A full disk is no reason to turn clients away: the key of before goes on signing.
  const rotate = (): Promise<unknown> => keys.rotateIfDue().catch(onFault)

  return formEndpoint(options, async (request, response, { bytes, address }) => {
    await rotate()
    // The provider holds the keys it was made with, so new keys mean a new one, whoever has seen them first.
    if (list !== keys.current()) {
      list = keys.current()
      provider = await openProvider()
    }
    await provider(replayForm(request, tokenRoute, bytes), response, address)
  })
}
