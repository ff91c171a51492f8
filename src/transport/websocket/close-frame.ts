import { errorTable } from '../../errors/error-table.js'
import { abnormalClosure } from './close-code.js'
import { reasonText } from '../named-refusal.js'
import { maxReasonBytes, type CloseReason } from './socket.js'

export interface CloseFrame {
  readonly code: number
  readonly reason: string
}

/**
 * How a WebSocket is closed: 1000 without a reason, else the error table's code and `<code>: <sentence>`, at most
 * 123 bytes of UTF-8. Undefined for the codes that stand for a broken connection: those break it.
 */
export const closeFrame = (reason: CloseReason | undefined): CloseFrame | undefined => {
  if (reason === undefined) return { code: 1000, reason: '' }
  const { closeCode } = errorTable[reason.code]
  return closeCode === abnormalClosure ? undefined : { code: closeCode, reason: reasonText(reason, maxReasonBytes) }
}
