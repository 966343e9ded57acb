-- A recorded reply looks whether its conversation has a reservation.
CREATE INDEX reservations_of_conversation ON reservations (conversation);
