import { describe, expect, it } from 'vitest'
import { requestNames } from '../../src/protocol/dataflow-requests.js'
import {
  dataflowResponse,
  readDataflowResponse,
  writeDataflowResponse,
  type DataflowResponse,
} from '../../src/protocol/dataflow-responses.js'
import { dataflowResponse as anyResponse } from './arbitraries.js'
import { keepsTheLawsOfAReader, refusalOf, rightOf } from './reader-laws.js'

describe('a dataflow response', () => {
  keepsTheLawsOfAReader({
    read: readDataflowResponse,
    write: (response) => JSON.stringify(dataflowResponse.encode(response)),
    messages: anyResponse,
  })

  it('has the bytes of decisions.md, for every request', () => {
    expect(requestNames.map((name) => writeDataflowResponse('success', name))).toEqual([
      '{"MessageName":"StartResponse","operation-result":"success"}',
      '{"MessageName":"UpdateResponse","operation-result":"success"}',
      '{"MessageName":"FinalizeResponse","operation-result":"success"}',
      '{"MessageName":"StopResponse","operation-result":"success"}',
    ])
  })

  it('has no name where the request could not be read', () => {
    expect(writeDataflowResponse('invalid-json: Send JSON.')).toBe('{"operation-result":"invalid-json: Send JSON."}')
  })

  it('needs operation-result alone, as the description has it', () => {
    const bare: DataflowResponse = { operationResult: 'success' }
    expect(rightOf(readDataflowResponse('{"operation-result":"success"}'))).toEqual(bare)
  })

  it('takes the names of either dialect', () => {
    const full: Required<DataflowResponse> = { messageName: 'StartResponse', operationResult: 'Success' }
    expect(rightOf(readDataflowResponse('{"message-name":"StartResponse","OperationResult":"Success"}'))).toEqual(full)
  })

  it('refuses a missing or ill-typed field by its name', () => {
    for (const value of [5.5, true, [], null, {}]) {
      const result = readDataflowResponse(JSON.stringify({ 'operation-result': value }))
      expect(refusalOf(result)).toEqual({ code: 'invalid-field', message: 'operation-result must be a string.' })
    }
    expect(refusalOf(readDataflowResponse('{}')).message).toBe('operation-result must be a string.')
  })

  it('stands without a name that cannot be read', () => {
    const named = '{"MessageName":5,"operation-result":"success"}'
    expect(rightOf(readDataflowResponse(named))).toEqual({ operationResult: 'success' })
  })
})
