// A lock between one thread that works for long, in slices, and others that ask short questions.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>

namespace agspec {

// How long a question may wait.
inline constexpr std::chrono::microseconds kPatience{1000};

// A mutex need not be fair: a thread that unlocks it and locks it again at once mostly gets it back,
// however long another one has been waiting. This one is taken for a slice only when nobody waits,
// so that a question waits for one slice at most.
//
// A slice is short, but its thread may be put aside by the system in the middle of it, for many
// milliseconds on a busy machine. A question is given up then: it has a deadline.
class HandoverMutex {
 public:
  // For a question; false if the lock could not be had in time.
  bool lock_within(std::chrono::microseconds patience) {
    if (mutex_.try_lock()) return true;
    n_waiting_.fetch_add(1);
    // By the system's clock, since the thread sanitizer knows of no lock by the steady one. Should
    // that clock be set back just now, the wait ends with the slice.
    const bool locked = mutex_.try_lock_until(std::chrono::system_clock::now() + patience);
    n_waiting_.fetch_sub(1);
    n_waiting_.notify_all();
    return locked;
  }

  // For a slice.
  void lock_slice() {
    for (int n = n_waiting_.load(); n > 0; n = n_waiting_.load()) n_waiting_.wait(n);
    mutex_.lock();
  }

  void unlock() { mutex_.unlock(); }

 private:
  std::timed_mutex mutex_;
  std::atomic<int> n_waiting_ = 0;
};

// Holds the lock for a question if it could be had in time.
class QuestionLock {
 public:
  explicit QuestionLock(HandoverMutex& mutex, std::chrono::microseconds patience = kPatience)
      : mutex_(mutex), held_(mutex.lock_within(patience)) {}
  ~QuestionLock() {
    if (held_) mutex_.unlock();
  }
  QuestionLock(const QuestionLock&) = delete;
  QuestionLock& operator=(const QuestionLock&) = delete;

  explicit operator bool() const { return held_; }

 private:
  HandoverMutex& mutex_;
  const bool held_;
};

// Holds the lock for a slice.
class SliceLock {
 public:
  explicit SliceLock(HandoverMutex& mutex) : mutex_(mutex) { mutex_.lock_slice(); }
  ~SliceLock() { mutex_.unlock(); }
  SliceLock(const SliceLock&) = delete;
  SliceLock& operator=(const SliceLock&) = delete;

 private:
  HandoverMutex& mutex_;
};

}  // namespace agspec
