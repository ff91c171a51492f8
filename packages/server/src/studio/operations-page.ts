import type { IncomingMessage, ServerResponse } from 'node:http'
import { noStoreHeaders, sendJson } from '../identity/http/responses.js'
import { pageHeaders } from './page-headers.js'
import { readStaticFiles, sendStatic, type StaticFiles } from './static-files.js'

/** No session can be opened at this address, so the page shows nothing else. */
const config = { ws: '', token: null, models: [], projects: [], metrics: '/metrics', operations: '/operations.json' }

/**
 * The page of the studio for operators, at `/` of the operations listener. Its files are read with the first request.
 *
 * @returns answers GET and HEAD; false, without an answer, for a path that is not one of the page
 */
export const operationsPage = (
  folder: string,
): ((request: IncomingMessage, response: ServerResponse) => Promise<boolean>) => {
  let reading: Promise<StaticFiles> | undefined
  const read = (): Promise<StaticFiles> =>
    (reading ??= readStaticFiles(folder).catch((error: unknown) => {
      reading = undefined
      throw error
    }))
  return async (request, response) => {
    const [path = ''] = (request.url ?? '').split('?', 1)
    const files = await read()
    const file = files.get(path === '/' ? '/index.html' : path)
    if (file !== undefined) sendStatic(request, response, file, pageHeaders)
    else if (path === '/studio/config.json' && files.size > 0)
      sendJson(response, 200, config, { ...noStoreHeaders, ...pageHeaders })
    else return false
    return true
  }
}
