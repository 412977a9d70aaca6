#pragma once

namespace relayout::exec {

// Numbers of the parts of a program and of a plan; see base/indexed.h.

enum class ValueId : int { none = -1 };   ///< a value of a program
enum class NodeId : int { none = -1 };    ///< a node of a program
enum class BufferId : int { none = -1 };  ///< a buffer of a plan
enum class SlotId : int { none = -1 };    ///< a slot of a plan

}  // namespace relayout::exec
